// Formats with the project's own prettier: a JSON request a line on standard
// input, a JSON reply a line on standard output. Ends when its input ends.
"use strict";
const path = require("path");
const prettier = require(process.argv[1]);
const ignores = [".gitignore", ".prettierignore"].map((f) => path.resolve(f));
// Version 2 takes one ignore file only.
const ignorePath = /^[012]\./.test(prettier.version) ? ignores[1] : ignores;

async function answer({ file, text }) {
  await prettier.clearConfigCache();
  const info = await prettier.getFileInfo(file, { ignorePath, resolveConfig: true });
  if (info.ignored || !info.inferredParser) return { none: true };
  const config = await prettier.resolveConfig(file, { editorconfig: true });
  return { text: await prettier.format(text, { ...config, filepath: file }) };
}

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // plugins may print
let queue = Promise.resolve();
require("readline")
  .createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on("line", (line) => {
    queue = queue.then(async () => {
      let reply;
      try {
        reply = await answer(JSON.parse(line));
      } catch (e) {
        reply = { error: `${e.name}: ${e.message}` };
      }
      write(JSON.stringify(reply) + "\n");
    });
  })
  .on("close", () => queue.then(() => process.exit(0)));
