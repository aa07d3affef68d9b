#!/usr/bin/env node
// Starts the program of this platform's package. Agents don't pay for this:
// `whet install` writes the program's own path into their settings.
const { spawnSync } = require("node:child_process")

const exe = process.platform === "win32" ? "whet.exe" : "whet"
let path
try {
  path = require.resolve(`@whet-dev/${process.platform}-${process.arch}/bin/${exe}`)
} catch {
  console.error(`whet: the package @whet-dev/${process.platform}-${process.arch} is not installed. Was npm told to leave out optional packages, or is there none for this platform? Another way: go install github.com/whet-dev/whet/cmd/...@latest`)
  process.exit(1)
}
const result = spawnSync(path, process.argv.slice(2), { stdio: "inherit" })
if (result.error) {
  console.error(`whet: ${result.error.message}`)
  process.exit(1)
}
process.exit(result.status ?? 1)
