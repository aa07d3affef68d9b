// Applies patches to files with oh-my-opencode-slim's own engine, and times it.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parsePatchStrict, resolveUpdateChunksFromText, applyHits, APPLY_PATCH_RESCUE_OPTIONS } from './slim-bundle.mjs';

for await (const line of createInterface({ input: process.stdin })) {
  const { file, patch } = JSON.parse(line);
  const start = performance.now();
  let ok = true;
  try {
    const [hunk] = parsePatchStrict(patch).hunks;
    const r = resolveUpdateChunksFromText(file, readFileSync(file, 'utf8'), hunk.chunks, APPLY_PATCH_RESCUE_OPTIONS);
    writeFileSync(file, applyHits(r.lines, r.resolved.map((x) => x.hit), r.eol, r.hasFinalNewline));
  } catch {
    ok = false;
  }
  process.stdout.write(JSON.stringify({ Ms: performance.now() - start, OK: ok }) + '\n');
}
