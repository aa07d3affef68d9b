// What the plugin tells its host when whet isn't what it should be; the host
// here is a stand-in that has a log and nothing else.
// Usage: failopen.mjs PLUGIN PROGRAM...
import { pathToFileURL } from "node:url"

const [plugin, ...programs] = process.argv.slice(2)
const { default: whet } = await import(pathToFileURL(plugin).href)
const alive = setInterval(() => {}, 1000)
for (const bin of programs) {
  const log = []
  const client = { app: { log: async ({ body }) => void log.push(body.message) } }
  const hooks = await whet.server({ client, directory: "/nowhere/" + bin, worktree: "/" }, { bin })
  console.log(JSON.stringify({ hooks: Object.keys(hooks), log }))
}
clearInterval(alive)
