// Runs groups of the web platform tests. Their harness and their server, the Python package `wptserve`, are used as they
// are; requests are sent by Curlew, through the program `curlew-probe`.
//
// usage: node web-platform-tests.mjs FOLDER PYTHON PROGRAM [FILTER]
//
// FOLDER has the tests, PYTHON has the package, and FILTER is a part of the path of the files to run.

import { spawn } from 'node:child_process'
import { webcrypto as crypto } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { createContext, runInContext } from 'node:vm'
import { Probe } from './probe.mjs'

const folder = resolve(process.argv[2])
const python = process.argv[3]
const program = process.argv[4]
const filter = process.argv[5] ?? ''

// The groups, and the expected numbers of their tests: those that pass, and all.
const groups = new Map([
  ['eventsource', [71, 74]],
  ['fetch/content-encoding/br', [10, 10]],
  ['fetch/content-encoding/gzip', [11, 11]],
  ['fetch/content-encoding/zstd', [11, 11]],
  ['fetch/content-length', [27, 39]],
  ['fetch/h1-parsing', [18, 26]],
  ['fetch/http-cache', [112, 121]]
])

// The files that are not run: they test drafts, or need a document, its navigation, or the trusted events of a browser.
const skipped = /navigation|request-cancellation|onmessage-trusted|document-domain|0x00-in-header|tentative/

// The tests that Curlew does not pass, with the reasons.
const known = [
  [/eventsource-cross-origin.* should fail$/, 'rules for other origins concern pages of browsers'],
  [/XMLHttpRequest/, 'the test concerns XMLHttpRequest'],
  [/parsing.*(aaaah|42s|30s|-1|0x20|\\"|: )"\. Expected: 42/, 'a length that is not a row of digits is an error'],
  [/parsing.*030.*Expected: network error/, 'lengths are compared as numbers'],
  [/lone-cr.*Value\r\n\nBody/s, 'CR LF ends a line, and a lone LF the next one'],
  // The heads of all tests of this file lack their end.
  [/status-code.*HTTP\/1\.1 (0|1|99|077|099|200|999) /, 'a head without its end is an error'],
  [/cache-mode.*no-cache when cache mode is no-store/, 'a request without a cache has no Cache-Control'],
  [/cc-request.*Cache-Control: no-store/, 'a stored response may answer (RFC 9111 §5.2.1.5)'],
  [/partial.*HTTP cache stores partial/, 'partial responses are not stored'],
  [/post-patch.*HTTP cache uses content after P/, 'a response to POST or PATCH is not stored']
]

/** Starts the server of the tests on a free port. It ends when its input ends. */
async function startServer () {
  const source = `
import sys
from wptserve.server import WebTestHttpd
from wptserve.stash import StashServer
if __name__ == "__main__":
    with StashServer(authkey="curlew"):
        server = WebTestHttpd(host="127.0.0.1", port=0, doc_root=sys.argv[1])
        server.start()
        print(server.port, flush=True)
        sys.stdin.read()
`
  const server = spawn(python, ['-c', source, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  for await (const port of createInterface({ input: server.stdout })) return { server, base: `http://localhost:${port}/` }
  throw new Error('the server of the tests did not start')
}

/** The globals of a test: those of a browser that the tests of the groups use. */
function makeGlobals (probe, url) {
  const context = createContext({
    console, URL, setTimeout, clearTimeout, btoa, crypto, Event, MessageEvent, DOMException, ArrayBuffer, Uint8Array
  })
  // The harness expects the errors of its own context.
  const TypeError = runInContext('TypeError', context)
  context.self = context
  context.location = new URL(url)

  context.fetch = async (input, init = {}) => {
    const request = { url: new URL(input, url).href, session: url, method: init.method ?? 'GET', headers: init.headers ?? [] }
    if (init.body !== undefined) request.body = Buffer.from(init.body).toString('base64')
    if (init.cache !== undefined) request.cache = init.cache
    if (init.redirect !== undefined) request.redirect = init.redirect
    const answer = await probe.send(request)
    if (answer.status === undefined) throw new TypeError(answer.error)
    const body = new Response(Buffer.from(answer.body ?? '', 'base64'))
    body.bytes ??= async () => new Uint8Array(await body.arrayBuffer())
    const response = { status: answer.status, statusText: answer.reason, headers: new Headers(answer.headers), body: body.body }
    response.ok = answer.status >= 200 && answer.status <= 299
    for (const method of ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text']) {
      response[method] = async () => {
        if (answer.body_error !== undefined) throw new TypeError(answer.body_error)
        return body[method]()
      }
    }
    return response
  }

  context.EventSource = class EventSource extends EventTarget {
    static CONNECTING = 0
    static OPEN = 1
    static CLOSED = 2
    CONNECTING = 0
    OPEN = 1
    CLOSED = 2
    #id

    constructor (address, { withCredentials = false } = {}) {
      super()
      this.url = this.#resolved(address)
      this.readyState = 0
      const request = { op: 'sse', url: this.url, session: url }
      if (new URL(this.url).origin !== context.location.origin) {
        request.headers = [['Origin', context.location.origin]]
        request.cookies = withCredentials
      }
      this.#id = probe.follow(request, (answer) => this.#receive(answer))
    }

    #resolved (address) {
      try {
        return new URL(String(address), url).href
      } catch {
        throw new DOMException('the URL is invalid', 'SyntaxError')
      }
    }

    #receive (answer) {
      switch (answer.event) {
        case 'open':
          this.readyState = 1
          return this.#deliver(new Event('open'))
        case 'message':
          return this.#deliver(new MessageEvent(answer.type, {
            data: answer.data, lastEventId: answer.lastEventId, origin: new URL(this.url).origin
          }))
        default:
          this.readyState = answer.event === 'error' && !answer.closed ? 0 : 2
          return this.#deliver(new Event('error'))
      }
    }

    #deliver (event) {
      this[`on${event.type}`]?.(event)
      this.dispatchEvent(event)
    }

    close () {
      this.readyState = 2
      probe.forget(this.#id)
      probe.send({ op: 'abort', target: this.#id })
    }
  }
  return context
}

/** Runs a file, and returns its tests, each with `name`, `status` and `message`. */
async function run (probe, base, path) {
  const context = makeGlobals(probe, new URL(path, base).href)
  const load = (path) => runInContext(readFileSync(join(folder, path), 'utf8'), context, { filename: path })
  load('resources/testharness.js')
  // The harness would expect a whole page if the document were there before.
  context.document = { title: path, getElementsByTagName: () => [] }
  const results = new Promise((resolve) => context.add_completion_callback((tests, status) => {
    const failed = status.status === 0 ? [] : [{ name: '(file)', status: 1, message: status.message }]
    resolve(tests.concat(failed))
  }))
  const text = readFileSync(join(folder, path), 'utf8')
  for (const [, script] of text.matchAll(/^\/\/ META: script=(.*)$/gm)) {
    load(script.startsWith('/') ? script : join(dirname(path), script))
  }
  load(path)
  const limit = new Promise((resolve) => setTimeout(resolve, 60_000, [{ name: '(file)', status: 2, message: 'no result within 60 s' }]).unref())
  return await Promise.race([results, limit])
}

const files = [...groups.keys()].flatMap((group) => readdirSync(join(folder, group))
  .filter((name) => /\.(any|window)\.js$/.test(name)).sort().map((name) => `${group}/${name}`))
  .filter((path) => path.includes(filter) && !skipped.test(path))
const { server, base } = await startServer()
const probe = new Probe(program)
const counts = new Map()
const unmatched = new Set(known)
let failed = files.length === 0
for (const path of files) {
  const group = dirname(path)
  const count = counts.get(group) ?? [0, 0]
  counts.set(group, count)
  for (const { name, status, message } of await run(probe, base, path)) {
    const id = `${path}: ${name}`
    const difference = known.find(([pattern]) => pattern.test(id))
    unmatched.delete(difference)
    count[1] += 1
    if (status === 0) count[0] += 1
    else console.log(`${id}: ${difference?.[1] ?? message}`)
    if ((status === 0) === (difference !== undefined)) {
      failed = true
      console.log(`unexpected: ${id}`)
    }
  }
}
for (const [group, [passed, all]] of counts) {
  console.log(`${group}: ${passed} of ${all}`)
  if (filter === '' && `${groups.get(group)}` !== `${[passed, all]}`) {
    failed = true
    console.log(`expected in ${group}: ${groups.get(group)}`)
  }
}
if (filter === '' && unmatched.size > 0) {
  failed = true
  for (const [pattern] of unmatched) console.log(`no test matches ${pattern}`)
}
probe.close()
server.stdin.end()
process.exit(failed ? 1 : 0)
