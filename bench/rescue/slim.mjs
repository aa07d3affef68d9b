// Applies each case on standard input with oh-my-opencode-slim's own engine.
import { createInterface } from 'node:readline';
import { parsePatchStrict, resolveUpdateChunksFromText, applyHits, APPLY_PATCH_RESCUE_OPTIONS } from './slim-bundle.mjs';

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line);
  let out;
  try {
    const [hunk] = parsePatchStrict(c.Patch).hunks;
    const r = resolveUpdateChunksFromText('f', c.Target, hunk.chunks, APPLY_PATCH_RESCUE_OPTIONS);
    out = { Text: applyHits(r.lines, r.resolved.map((x) => x.hit), r.eol, r.hasFinalNewline) };
  } catch (e) {
    out = { Error: e.message || 'error' };
  }
  process.stdout.write(JSON.stringify(out) + '\n');
}
