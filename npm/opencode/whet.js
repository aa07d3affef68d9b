// Whet in OpenCode: one file without dependencies. It decides nothing: it
// forwards what the host tells it to one `whet rpc` child per project directory
// and lends that child the host's API. Lines of JSON-RPC 2.0 go both ways. If
// the child is in trouble, the host goes on as if whet weren't there.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"

const INSTALLED = "" // `whet install` writes the program's path here
const PROTOCOL = 1
const PATIENCE = 10_000 // ms that a hook may take before the call goes on without it
const STARTS = 4 // a child that dies again and again is left alone

/** The program: as configured, as installed, of the npm package, or on PATH. */
function program(options) {
  const given = options?.bin || process.env.WHET_BIN || INSTALLED
  if (given) return given
  const exe = process.platform === "win32" ? "whet.exe" : "whet"
  try {
    return createRequire(import.meta.url).resolve(`@whet-dev/${process.platform}-${process.arch}/bin/${exe}`)
  } catch {
    return exe
  }
}

/** A child that is started when needed, and again after it died. */
class Child {
  constructor(bin, hello, lend, warn) {
    Object.assign(this, { bin, hello, lend, warn, starts: 0, live: null })
  }
  /** Resolves to what the child said to initialize. */
  ready() {
    if (this.live) return this.live.ready
    if (++this.starts > STARTS) return Promise.reject(new Error(`whet ended ${STARTS} times and is not started again`))
    const live = (this.live = { waiting: new Map(), last: 0, wrong: null })
    const proc = (live.proc = spawn(this.bin, ["rpc"], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true }))
    const end = (why) => {
      if (this.live === live) this.live = null
      if (live.ended) return
      live.ended = true
      for (const w of live.waiting.values()) w.reject(new Error(why))
      if (!this.closed) this.warn(why)
    }
    proc.on("error", (e) => end(`whet did not start (${this.bin}): ${e.message}`))
    proc.on("exit", (code, signal) => end(live.wrong ?? `whet ended: ${signal ?? "exit status " + code}`))
    proc.stdin.on("error", () => {})
    let rest = ""
    proc.stdout.setEncoding("utf8")
    proc.stdout.on("data", (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()
      for (const line of lines) this.receive(live, line)
    })
    for (const h of [proc, proc.stdin, proc.stdout]) h.unref?.() // never keeps the host alive
    live.ready = this.send(live, "initialize", { protocol: PROTOCOL, ...this.hello })
    live.ready.catch(() => {})
    return live.ready
  }
  receive(live, line) {
    let m
    try {
      m = JSON.parse(line)
    } catch {
      live.wrong = `${this.bin} is not whet: it printed ${JSON.stringify(line.slice(0, 80))}`
      return live.proc.kill()
    }
    if (m.method === "hello") {
      if (m.params.protocol !== PROTOCOL) {
        live.wrong = `whet ${m.params.whet} and this plugin don't fit; run: whet install opencode`
        live.proc.kill()
      }
    } else if (m.method) {
      const reply = (r) => m.id !== undefined && this.write(live, { id: m.id, ...r })
      Promise.resolve()
        .then(() => this.lend[m.method](m.params))
        .then((result) => reply({ result: result ?? {} }), (e) => reply({ error: { code: -32000, message: String(e?.message ?? e) } }))
    } else {
      const w = live.waiting.get(m.id)
      live.waiting.delete(m.id)
      if (m.error) w?.reject(new Error(m.error.message))
      else w?.resolve(m.result)
    }
  }
  write(live, message) {
    if (!live.ended) live.proc.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  }
  send(live, method, params) {
    return new Promise((resolve, reject) => {
      const id = ++live.last
      live.waiting.set(id, { resolve, reject })
      this.write(live, { id, method, params })
    })
  }
  async call(method, params) {
    await this.ready()
    if (!this.live) throw new Error("whet has ended")
    return this.send(this.live, method, params)
  }
  notify(method, params) {
    if (this.live) this.write(this.live, { method, params })
  }
  /** The child's answer, or undefined if it has none in time: fail open. */
  async hook(method, params) {
    let timer
    const late = new Promise((r) => (timer = setTimeout(r, PATIENCE)))
    try {
      return await Promise.race([this.call(method, params), late])
    } catch {
      return undefined // the end of the child has been reported
    } finally {
      clearTimeout(timer)
    }
  }
  close() {
    this.closed = true
    this.live?.proc.stdin.end()
  }
}

/** What both versions of the host share: one child, and the calls under way. */
function connect(bin, hello, host) {
  const asks = new Map() // callID → the host's own way to ask for permission
  const injected = new Map() // sessionID → text for its prompts
  const refusals = new WeakSet()
  const child = new Child(bin, hello, {
    "host.http": (p) => host.http(p),
    "tool.ask": async ({ callID, permission, pattern, reason }) => {
      const ask = asks.get(callID)
      if (!ask) throw new Error("this host has no way to ask here")
      return ask({ permission, patterns: [pattern], always: ["*"], metadata: { reason } })
    },
    "inject.set": ({ sessionID, text }) => void (text ? injected.set(sessionID, text) : injected.delete(sessionID)),
  }, host.warn)
  return {
    child, injected, refusals,
    /** Asks the guards. Throws to stop the call, returns new arguments or none. */
    async before(call) {
      const v = await child.hook("tool.before", call)
      if (!v?.refuse) return v?.args
      const refusal = new Error(v.refuse)
      refusals.add(refusal)
      throw refusal
    },
    /** Tells the guards how a call ended; returns what they add to the text. */
    async after(call, text, failed) {
      const r = await child.hook("tool.after", { ...call, result: { text, failed } })
      return r?.text?.startsWith(text) ? r.text.slice(text.length) : ""
    },
    /** Runs one of our own tools. */
    async exec(call, ask, abort) {
      let rejected
      if (ask) asks.set(call.callID, async (q) => {
        try {
          await ask(q)
          return {}
        } catch (e) {
          rejected = e
          return { refuse: String(e?.message ?? e) }
        }
      })
      const cancel = () => child.notify("cancel", { callID: call.callID })
      abort?.addEventListener("abort", cancel)
      try {
        const r = await child.call("tool.exec", call)
        if (rejected) throw rejected // as the host knows it
        if (r.failed) throw new Error(r.text)
        return r.text
      } finally {
        asks.delete(call.callID)
        abort?.removeEventListener("abort", cancel)
      }
    },
  }
}

const shared = new Map() // directory → what its plugin instances share; a host may make several

/** OpenCode 1.x. */
async function server(input, options) {
  const { client, directory, worktree } = input
  let link = shared.get(directory)
  if (!link) {
    const host = {
      http: async ({ method, path, body }) => {
        const { baseUrl, headers, fetch: inside } = link.client._client.getConfig() // anew: the address may change
        const h = new Headers(headers)
        if (body !== undefined) h.set("content-type", "application/json")
        const res = await (inside ?? fetch)(new Request(new URL(path, baseUrl), { method, headers: h, body: body === undefined ? undefined : JSON.stringify(body) }))
        const text = await res.text()
        try {
          return { status: res.status, body: JSON.parse(text) }
        } catch {
          return { status: res.status, body: text }
        }
      },
      warn: (message) => void link.client.app.log({ body: { service: "whet", level: "error", message } })?.catch?.(() => {}),
    }
    link = { users: 0, agents: new Map(), notes: new Map(), ...connect(program(options), { host: "opencode", directory, worktree }, host) }
    shared.set(directory, link)
  }
  link.client = client
  link.users++
  const { child, agents, notes, injected, refusals } = link
  let init
  try {
    init = await child.ready()
  } catch {
    return {} // reported; OpenCode goes on without whet
  }
  const own = new Map(init.tools.map((t) => [t.name, t]))
  const call = (i, args) => ({ callID: i.callID, tool: i.tool, sessionID: i.sessionID, agent: agents.get(i.sessionID), args })
  const ours = (tool) => own.has(tool) || tool.startsWith("whet_") // guarded where they are served
  const stopped = new Set() // calls that we refused: their errors are ours

  return {
    dispose: async () => {
      if (--link.users > 0) return
      shared.delete(directory)
      child.close()
    },
    tool: Object.fromEntries(init.tools.map((t) => [t.name, {
      description: t.description,
      args: t.input.properties,
      execute: (args, ctx) => link.exec({ callID: ctx.callID, tool: t.name, sessionID: ctx.sessionID, agent: ctx.agent, args }, (q) => ctx.ask(q), ctx.abort),
    }])),
    // The host would make every parameter required.
    "tool.definition": async ({ toolID }, out) => {
      const t = own.get(toolID)
      if (t?.description === out.description) out.jsonSchema = t.input
    },
    "tool.execute.before": async (i, out) => {
      if (ours(i.tool)) return
      try {
        const args = await link.before(call(i, out.args))
        if (!args) return
        // In place: this host keeps the object that it has.
        for (const k of Object.keys(out.args)) delete out.args[k]
        Object.assign(out.args, args)
      } catch (e) {
        if (refusals.has(e)) stopped.add(i.callID)
        throw e
      }
    },
    "tool.execute.after": async (i, out) => {
      if (ours(i.tool) || !out) return
      const parts = Array.isArray(out.content) ? out.content : null // of an MCP tool
      const text = parts ? parts.map((p) => p.text ?? "").join("\n") : String(out.output ?? "")
      const note = await link.after(call(i, i.args), text, out.isError === true)
      if (!note) return
      if (parts) parts.push({ type: "text", text: note.trim() })
      else out.output = text + note
    },
    "chat.message": async (i, out) => {
      if (i.agent) agents.set(i.sessionID, i.agent)
      if (out.parts.some((p) => !p.synthetic)) await child.hook("session.reset", { sessionID: i.sessionID })
    },
    event: async ({ event: { type, properties: p } }) => {
      if (type === "session.compacted") return void (await child.hook("session.reset", { sessionID: p.sessionID }))
      if (type === "session.deleted") return void [agents, injected].forEach((m) => m.delete(p.info?.id))
      const part = type === "message.part.updated" ? p.part : null
      // A tool that throws has no "after": its error is told in this event only.
      if (part?.type !== "tool" || part.state.status !== "error" || ours(part.tool)) return
      if (stopped.delete(part.callID) || notes.has(part.callID)) return
      notes.set(part.callID, "")
      const note = await link.after(call(part, part.state.input), part.state.error, true)
      notes.set(part.callID, note)
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      for (const { parts } of messages)
        for (const { type, callID, state } of parts) {
          const note = type === "tool" && state.status === "error" && notes.get(callID)
          if (note && !state.error.endsWith(note)) state.error += note
        }
      const last = messages.findLast((m) => m.info.role === "user")
      const text = last && injected.get(last.info.sessionID)
      if (text) last.parts.push({ id: "prt_whet", sessionID: last.info.sessionID, messageID: last.info.id, type: "text", text, synthetic: true })
    },
  }
}

/** OpenCode 2. Hosts of version 1 call this too, with a context that lacks the hooks. */
async function setup(ctx) {
  if (typeof ctx?.tool?.hook !== "function") return
  const directory = ctx.location?.directory || process.cwd()
  const warn = (message) => console.error("whet:", message)
  const http = async () => { throw new Error("OpenCode 2 lends its plugins no HTTP API") }
  const link = connect(program(ctx.options), { host: "opencode2", directory, worktree: "" }, { http, warn })
  let init
  try {
    init = await link.child.ready()
  } catch {
    return
  }
  const own = new Set(init.tools.map((t) => t.name))
  const ours = (tool) => own.has(tool) || tool.startsWith("whet_")
  const call = (e) => ({ callID: e.id, tool: e.tool, sessionID: e.sessionID, agent: e.agent, args: e.input })
  const registered = [
    await ctx.tool.transform((draft) => init.tools.forEach((t) => draft.add({
      name: t.name,
      description: t.description,
      input: t.input,
      options: { codemode: false },
      execute: async (input, c) => ({ content: await link.exec({ callID: c.id, tool: t.name, sessionID: c.sessionID, agent: c.agent, args: input }) }),
    }))),
    await ctx.tool.hook("execute.before", async (e) => {
      if (!ours(e.tool)) e.input = (await link.before(call(e))) ?? e.input
    }),
    await ctx.tool.hook("execute.after", async (e) => {
      if (ours(e.tool)) return
      const parts = Array.isArray(e.result?.content) ? e.result.content : null
      const text = e.status === "error" ? String(e.error?.message ?? "") : parts ? parts.map((p) => p.text ?? "").join("\n") : String(e.result?.content ?? "")
      const note = await link.after(call(e), text, e.status === "error")
      if (!note || e.status === "error") return
      if (parts) parts.push({ type: "text", text: note.trim() })
      else e.result.content = text + note
    }),
    await ctx.session?.hook?.("prompt", (e) => link.child.hook("session.reset", { sessionID: e.sessionID })),
  ]
  return async () => {
    for (const r of registered) await r?.dispose?.()
    link.child.close()
  }
}

export default { id: "whet", server, setup }
