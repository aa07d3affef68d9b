// Whet in OpenCode. It decides nothing: it forwards what the host tells it to one `whet rpc` child per project
// directory and lends that child the host's API. Lines of JSON-RPC 2.0 go both ways. If the child is in trouble,
// the host goes on as if whet weren't there.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"

const INSTALLED = "" // `whet install` writes the program's path here
const PROTOCOL = 1
const PATIENCE = 10_000 // ms that a hook may take before the call goes on without it
const STARTS = 4 // a child that dies again and again is left alone

/** The program: as configured, as installed, of the npm package, or on PATH. */
function program(options) {
  const exe = process.platform === "win32" ? "whet.exe" : "whet"
  try {
    const packaged = `@whet-dev/${process.platform}-${process.arch}/bin/${exe}`
    return options?.bin || process.env.WHET_BIN || INSTALLED || createRequire(import.meta.url).resolve(packaged)
  } catch {
    return exe
  }
}

function parse(text) {
  try { return JSON.parse(text) } catch {} // undefined
}

/** A child and the calls under way; it is started when needed, and again after it died. */
class Link {
  starts = 0
  live = null // the running child
  own = new Set() // whet's tools
  asks = new Map() // callID → the host's own way to ask for permission
  constructor(bin, hello, host) { Object.assign(this, { bin, hello, host }) }
  ready() { // resolves to the tools; then config is what packages add to the host's configuration
    if (this.live) return this.live.ready
    if (++this.starts > STARTS) return Promise.reject(new Error(`whet ended ${STARTS} times and is not started again`))
    const live = (this.live = { waiting: new Map(), last: 0 })
    const proc = (live.proc = spawn(this.bin, ["rpc"], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true }))
    const end = (why) => {
      if (live.ended) return
      live.ended = true
      this.live = null
      for (const w of live.waiting.values()) w.reject(new Error(why))
      if (!this.closed) this.host.warn(why)
      if (!this.closed && live.up) setTimeout(() => this.ready().catch(() => {}), 1000).unref?.() // tasks may need it
    }
    proc.on("error", (e) => end(`whet did not start (${this.bin}): ${e.message}`))
    proc.on("exit", (code, signal) => end(live.wrong ?? `whet ended: ${signal ?? "exit status " + code}`))
    proc.stdin.on("error", () => {})
    let rest = ""
    proc.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()
      for (const line of lines) this.receive(live, line)
    })
    for (const h of [proc, proc.stdin, proc.stdout]) h.unref?.() // keeps no host alive
    live.ready = this.send(live, "initialize", { protocol: PROTOCOL, ...this.hello }).then(({ config, tools }) => ((live.up = true), Object.assign(this, { config, own: new Set(tools.map((t) => t.name)) }), tools))
    live.ready.catch(() => {})
    return live.ready
  }
  receive(live, line) {
    const fail = (why) => ((live.wrong = why), live.proc.kill())
    const m = parse(line)
    if (!m) return fail(`${this.bin} is not whet: it printed ${JSON.stringify(line.slice(0, 80))}`)
    if (m.method === "hello") {
      if (m.params.protocol !== PROTOCOL) fail(`whet ${m.params.whet} and this plugin don't fit; run: whet install opencode`)
    } else if (m.method) {
      const reply = (r) => m.id !== undefined && this.write(live, { id: m.id, ...r })
      const failed = (e) => reply({ error: { code: -32000, message: String(e?.message ?? e) } })
      this.lend(m.method, m.params).then((result) => reply({ result: result ?? {} }), failed)
    } else {
      const w = live.waiting.get(m.id)
      live.waiting.delete(m.id)
      m.error ? w?.reject(new Error(m.error.message)) : w?.resolve(m.result)
    }
  }
  async lend(method, p) { // what the child asks of the host
    if (method === "host.http") return this.host.http(p)
    const ask = method === "tool.ask" && this.asks.get(p.callID)
    if (!ask) throw new Error(`this host has no ${method} here`)
    return ask({ permission: p.permission, patterns: [p.pattern], always: ["*"], metadata: { reason: p.reason } })
  }
  write(live, message) {
    if (!live.ended) live.proc.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  }
  send(live, method, params) {
    return new Promise((resolve, reject) => {
      if (!live) throw new Error("whet has ended")
      live.waiting.set(++live.last, { resolve, reject })
      this.write(live, { id: live.last, method, params })
    })
  }
  call(method, params) {
    return this.ready().then(() => this.send(this.live, method, params))
  }
  /** The child's answer, or undefined if it has none in time: fail open. */
  hook(method, params) {
    let timer
    const late = new Promise((r) => (timer = setTimeout(r, PATIENCE)))
    const answer = this.call(method, params).catch(() => undefined) // the host has been warned
    return Promise.race([answer, late]).finally(() => clearTimeout(timer))
  }
  /** Whether a tool is whet's: those are guarded where they are served. */
  ours = (tool) => this.own.has(tool) || tool.startsWith("whet_")
  /** Asks the guards. Throws to stop the call; returns new arguments, or none. */
  async before(call, refused) {
    const v = await this.hook("tool.before", call)
    if (v?.refuse) throw (refused?.add(call.callID), new Error(v.refuse))
    return v?.args
  }
  /** Tells the guards how a call ended, and adds what they say to the result. */
  async after(call, failed, result, key) {
    const parts = Array.isArray(result.content) ? result.content : null // as MCP has it
    const text = parts ? parts.map((p) => p.text ?? "").join("\n") : String(result[key] ?? "")
    const note = (await this.hook("tool.after", { ...call, result: { text, failed } }))?.note ?? ""
    if (note && parts) parts.push({ type: "text", text: note.trim() })
    else if (note) result[key] = text + note
    return note
  }
  /** Runs one of whet's tools. */
  async exec(call, ask, abort) {
    let rejected
    const no = (e) => ((rejected = e), { refuse: String(e?.message ?? e) })
    if (ask) this.asks.set(call.callID, (q) => Promise.resolve(ask(q)).then(() => ({}), no))
    const cancel = () => this.live && this.write(this.live, { method: "cancel", params: { callID: call.callID } })
    abort?.addEventListener("abort", cancel)
    try {
      const r = await this.call("tool.exec", call)
      if (rejected || r.failed) throw rejected ?? new Error(r.text) // a rejection as the host knows it
      return r.text
    } finally {
      this.asks.delete(call.callID)
      abort?.removeEventListener("abort", cancel)
    }
  }
  close() {
    this.closed = true
    this.live?.proc.stdin.end()
  }
}

const links = new Map() // directory → its link; the host may make several instances of a plugin

/** OpenCode 1. */
async function server(input, options) {
  const { client, directory, worktree } = input
  let link = links.get(directory)
  if (!link) {
    link = new Link(program(options), { host: "opencode", directory, worktree, brief: process.argv.some((a) => a === "run" || a === "acp") }, {
      async http({ method, path, body }) {
        const { baseUrl, headers, fetch: inside } = link.client._client.getConfig() // anew: the address may change
        const init = { method, headers: new Headers(headers), body: JSON.stringify(body) } // of undefined, undefined
        if (init.body) init.headers.set("content-type", "application/json")
        const res = await (inside ?? fetch)(new Request(new URL(path, baseUrl), init))
        const text = await res.text()
        return { status: res.status, body: parse(text) ?? text }
      },
      warn: (message) => void link.client.app.log({ body: { service: "whet", level: "error", message } })?.catch?.(() => {}),
    })
    Object.assign(link, { users: 0, agents: new Map(), notes: new Map(), refused: new Set() })
    links.set(directory, link)
  }
  Object.assign(link, { client, users: link.users + 1 })
  const tools = await link.ready().catch(() => null)
  if (!tools) return {} // OpenCode has been told, and goes on without whet
  const { agents, notes, refused } = link
  const call = (i, args) => ({ callID: i.callID, tool: i.tool, sessionID: i.sessionID, agent: i.agent ?? agents.get(i.sessionID), args })

  return {
    async dispose() { if (--link.users === 0) links.delete(directory), link.close() },
    async config(c) { // lists grow; a name that a person has used stays theirs
      const both = (a, b) => (Array.isArray(b) ? [...new Set([...(a ?? []), ...b])] : { ...b, ...a, ...(Array.isArray(b.paths) && { paths: both(a?.paths, b.paths) }) })
      for (const [k, v] of Object.entries(link.config ?? {})) c[k] = both(c[k], v)
    },
    tool: Object.fromEntries(tools.map((t) => [t.name, {
      description: t.description,
      args: t.input.properties,
      execute: (args, ctx) => link.exec(call({ ...ctx, tool: t.name }, args), (q) => ctx.ask(q), ctx.abort),
    }])),
    async "tool.definition"({ toolID }, out) {
      const t = tools.find((t) => t.name === toolID && t.description === out.description)
      if (t) out.jsonSchema = t.input // the host would make every parameter required
    },
    async "tool.execute.before"(i, out) {
      const args = link.ours(i.tool) ? null : await link.before(call(i, out.args), refused)
      if (!args) return
      for (const k of Object.keys(out.args)) delete out.args[k] // in place: the host keeps the object that it has
      Object.assign(out.args, args)
    },
    async "tool.execute.after"(i, out) {
      if (out && !link.ours(i.tool)) await link.after(call(i, i.args), out.isError === true, out, "output")
    },
    async "chat.message"(i, out) {
      if (i.agent) agents.set(i.sessionID, i.agent)
      if (out.parts.every((p) => p.synthetic)) return // nobody wrote it
      const text = (await link.hook("session.prompt", { sessionID: i.sessionID }))?.text
      const { id, sessionID, messageID } = out.parts.at(-1)
      if (text) out.parts.push({ id: id + "w", sessionID, messageID, type: "text", text, synthetic: true })
    },
    async event({ event: { type, properties: { part, ...p } } }) {
      if (link.live && (type === "session.idle" || type === "session.error")) link.hook("event", { event: type, sessionID: p.sessionID })
      if (type === "session.compacted") await link.hook("session.reset", { sessionID: p.sessionID })
      if (type === "session.deleted") agents.delete(p.info?.id)
      // A tool that throws has no "after": its error is told in this event only.
      if (type !== "message.part.updated" || part.type !== "tool" || part.state.status !== "error" || link.ours(part.tool)) return
      if (refused.delete(part.callID) || notes.has(part.callID)) return
      notes.set(part.callID, "") // before the answer is there: the event may come twice
      notes.set(part.callID, await link.after(call(part, part.state.input), true, { error: part.state.error }, "error"))
    },
    async "experimental.chat.messages.transform"(_, { messages }) {
      for (const { type, callID, state } of messages.flatMap((m) => m.parts)) {
        const note = type === "tool" && state.status === "error" && notes.get(callID)
        if (note && !state.error.endsWith(note)) state.error += note
      }
    },
  }
}

/** OpenCode 2. Version 1 calls this too, with a context that lacks the hooks. */
async function setup(ctx) {
  if (typeof ctx?.tool?.hook !== "function") return
  const hello = { host: "opencode2", directory: ctx.location?.directory || process.cwd(), worktree: "" }
  const http = () => Promise.reject(new Error("OpenCode 2 lends its plugins no HTTP API"))
  const link = new Link(program(ctx.options), hello, { http, warn: (message) => console.error("whet:", message) })
  const tools = await link.ready().catch(() => null)
  if (!tools) return
  const call = (e) => ({ callID: e.id, tool: e.tool, sessionID: e.sessionID, agent: e.agent, args: e.input })
  const add = ({ name, description, input }) => {
    const execute = async (args, c) => ({ content: await link.exec(call({ ...c, tool: name, input: args })) })
    return { name, description, input, options: { codemode: false }, execute }
  }
  const registered = [
    await ctx.tool.transform((draft) => tools.forEach((t) => draft.add(add(t)))),
    await ctx.tool.hook("execute.before", async (e) => {
      if (!link.ours(e.tool)) e.input = (await link.before(call(e))) ?? e.input
    }),
    await ctx.tool.hook("execute.after", async (e) => {
      const failed = e.status === "error"
      if (!link.ours(e.tool)) await link.after(call(e), failed, failed ? { ...e.error } : e.result, failed ? "message" : "content")
    }),
    await ctx.session?.hook?.("prompt", (e) => link.hook("session.reset", { sessionID: e.sessionID })),
  ]
  return async () => {
    for (const r of registered) await r?.dispose?.()
    link.close()
  }
}

export default { id: "whet", server, setup }
