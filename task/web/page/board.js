'use strict'
// Texts come from models and pages: they are only ever set as text.
const $ = id => document.getElementById(id)
const make = (tag, kind, text) => {
  const e = document.createElement(tag)
  if (kind) e.className = kind
  if (text !== undefined) e.textContent = text
  return e
}

let rows = [], chosen = '', skew = 0, board, log
const phases = new Map()

function age(from, to) {
  const s = Math.max(0, Math.floor((to - Date.parse(from)) / 1000))
  if (s < 60) return s + 's'
  if (s < 3600) return Math.floor(s / 60) + 'm'
  return s < 172800 ? Math.floor(s / 3600) + 'h' : Math.floor(s / 86400) + 'd'
}
const now = () => Date.now() + skew
const aged = r => age(r.created, r.ended ? Date.parse(r.ended) : now())

function draw() {
  const old = new Map([...$('tasks').children].map(li => [li.dataset.id, li]))
  $('tasks').replaceChildren(...rows.map(r => {
    const li = old.get(r.id) || make('li')
    if (!li.dataset.id) {
      li.dataset.id = r.id
      const button = li.appendChild(make('button'))
      button.type = 'button'
      button.onclick = () => choose(r.id)
      const head = button.appendChild(make('div', 'head'))
      head.append(make('b'), make('span', 'title'), make('span', 'dim agent'), make('span', 'dim age'), make('span', 'dim cost'))
      button.append(make('div', 'what dim'))
    }
    const set = (selector, text) => {
      const e = li.querySelector(selector)
      if (e.textContent !== text) e.textContent = text
    }
    li.className = r.phase + (r.unread ? ' unread' : '')
    set('b', r.alias)
    set('.title', r.title)
    set('.agent', r.agent)
    set('.age', aged(r))
    set('.cost', r.cost)
    set('.what', r.state + (r.doing ? ': ' + r.doing : ''))
    li.firstChild.setAttribute('aria-current', r.id === chosen)
    return li
  }))
}

function trouble(text) {
  $('trouble').textContent = text
  $('trouble').hidden = !text
}

function watch() {
  if (board) board.close()
  phases.clear()
  board = new EventSource('/events' + ($('all').checked ? '?all=1' : ''))
  board.addEventListener('board', e => {
    const p = JSON.parse(e.data)
    trouble('')
    skew = Date.parse(p.now) - Date.now()
    rows = p.rows
    $('project').textContent = $('all').checked ? 'every project' : p.project
    $('sum').textContent = p.total + (p.total === 1 ? ' task, ' : ' tasks, ') + p.open + ' open, ' + p.cost
    document.title = (p.open ? '(' + p.open + ') ' : '') + 'whet board'
    $('empty').hidden = p.total > 0
    $('more').hidden = p.total <= rows.length
    $('more').textContent = (p.total - rows.length) + ' more: whet task list --all'
    for (const r of rows) {
      const before = phases.get(r.id)
      if (before && before !== r.phase && r.ended) ring(r)
      if (r.id === chosen && before && before !== r.phase) show()
      phases.set(r.id, r.phase)
    }
    draw()
  })
  board.addEventListener('trouble', e => trouble(JSON.parse(e.data)))
  board.onerror = () => trouble('The connection is lost: has whet serve --web ended? It is tried again.')
}

function ring(r) {
  if ($('bell').checked && Notification.permission === 'granted') {
    new Notification(r.alias + ' ' + r.phase, { body: r.title, tag: r.id })
  }
}

async function ask(path, options) {
  const answer = await fetch(path, options)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text.trim())
  return JSON.parse(text)
}

function choose(id) {
  if (id !== chosen) $('d-said').textContent = ''
  chosen = id
  location.hash = id
  draw()
  $('detail').hidden = false
  $('d-log').replaceChildren()
  if (log) log.close()
  log = new EventSource('/log?id=' + encodeURIComponent(id))
  log.addEventListener('line', e => {
    const l = JSON.parse(e.data)
    $('d-log').append(make('li', '', new Date(l.at).toLocaleTimeString() + '  ' + l.kind + '  ' + l.text))
    if ($('d-log').children.length > 2000) $('d-log').firstChild.remove()
  })
  log.addEventListener('end', () => { log.close(); show() })
  log.addEventListener('trouble', () => log.close())
  show()
}

async function show() {
  const id = chosen
  try {
    const t = await ask('/task?id=' + encodeURIComponent(id))
    if (id !== chosen) return
    $('d-title').textContent = t.row.alias + ': ' + t.row.title
    $('d-state').textContent = [t.row.state, t.row.agent, t.row.model, t.row.cost, t.dir].filter(Boolean).join(' · ')
    $('d-answer').textContent = [t.reason, t.text].filter(Boolean).join('\n') || '–'
    $('d-changed').textContent = (t.changed || []).join('\n') || '–'
    $('d-prompt').textContent = t.prompt
  } catch (e) { $('d-said').textContent = e.message }
}

// The words are taken at once: what is typed while the answer is awaited stays.
async function steer(what) {
  const words = $('words').value, id = chosen
  $('words').value = ''
  let failed = true
  try {
    const said = await ask('/' + what, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ID: id, Text: words }),
    })
    failed = said.failed
    $('d-said').textContent = said.text
  } catch (e) { $('d-said').textContent = e.message }
  if (failed && !$('words').value) $('words').value = words
  if (!failed && what === 'revive' && id === chosen) choose(id)
}

for (const b of document.querySelectorAll('[data-do]')) b.onclick = () => steer(b.dataset.do)
$('steer').onsubmit = e => { e.preventDefault(); steer('message') }
$('all').onchange = watch
$('bell').onchange = () => {
  if ($('bell').checked && Notification.permission === 'default') Notification.requestPermission()
}
history.replaceState(null, '', '/' + location.hash) // the key stays out of the history
setInterval(draw, 1000)
watch()
if (location.hash.length > 1) choose(decodeURIComponent(location.hash.slice(1)))
