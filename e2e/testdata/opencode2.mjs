// A stand-in for OpenCode 2, whose program isn't to be had: it calls the plugin
// as that version's sources and its plugins' sources say that it does.
// Usage: opencode2.mjs PLUGIN PROJECT
import { pathToFileURL } from "node:url"

const [plugin, directory] = process.argv.slice(2)
const { default: whet } = await import(pathToFileURL(plugin).href)
const alive = setInterval(() => {}, 1000) // as a host is; the plugin keeps nobody alive
const say = (what, value) => console.log(what + ": " + JSON.stringify(value))

// Version 1 calls setup too, with fewer things in the context.
say("with version 1's context", (await whet.setup({ options: {}, agent: {}, plugin: {}, command: {} })) ?? null)

const hooks = {}
const tools = []
let disposed = 0
const registration = { dispose: async () => void disposed++ }
const hook = async (name, f) => ((hooks[name] = f), registration)
const dispose = await whet.setup({
  options: {},
  location: { directory },
  session: { hook },
  tool: { hook, transform: async (f) => (f({ add: (t) => tools.push(t) }), registration) },
})
say("hooks", Object.keys(hooks))
say("tools are schemas", tools.every((t) => t.input.type === "object" && t.options.codemode === false && t.description))
say("names that it has itself", tools.filter((t) => ["grep", "glob", "read", "edit", "write", "patch", "apply_patch"].includes(t.name)).length)

let n = 0
const call = async (tool, input, outcome) => {
  const event = { tool, input, sessionID: "ses_1", agent: "build", messageID: "msg_1", id: "call_" + ++n }
  try {
    await hooks["execute.before"](event)
  } catch (e) {
    return "refused: " + e.message.split(" (from")[0].replaceAll(directory, "DIR")
  }
  Object.assign(event, outcome)
  await hooks["execute.after"](event)
  return event.result ?? event.error ?? event.input
}
say("missing path", await call("grep", { pattern: "x", path: "no/such" }))
say("words for an absent path", await call("glob", { pattern: "x", path: "undefined" }, { status: "completed", result: { content: "none" } }))
const stale = "*** Begin Patch\n*** Update File: s.txt\n@@\n start of block\n-  middle v1 line\n+  middle v3 line\n end of block\n*** End Patch"
const event = { tool: "patch", input: { patchText: stale }, sessionID: "ses_1", agent: "build", id: "call_p" }
await hooks["execute.before"](event)
say("rescued", event.input.patchText.includes("middle v2"))
for (let i = 0; i < 3; i++) say("read", await call("read", { filePath: "a" }, { status: "completed", result: { content: [{ type: "text", text: "same" }] } }))
await hooks.prompt({ sessionID: "ses_1", messageID: "msg_2", prompt: { text: "go on" } })
say("read after a prompt", await call("read", { filePath: "a" }, { status: "completed", result: { content: "same" } }))
say("failed", await call("read", { filePath: "b" }, { status: "error", error: { message: "no such file" } }))
await dispose()
say("disposed", disposed)
clearInterval(alive)
