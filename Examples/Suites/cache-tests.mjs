// Runs the suite of cache-tests.fyi. Its server and its judge are used as they are; its requests are sent by Curlew,
// through the program `curlew-probe`.
//
// usage: node cache-tests.mjs FOLDER PROGRAM [single-user | shared]
//
// FOLDER is a checkout of the suite. A browser's tests suit a cache of one user, a proxy's tests a shared cache.

import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { Probe } from './probe.mjs'

const folder = resolve(process.argv[2])
const program = process.argv[3]
const mode = process.argv[4] ?? 'single-user'

// The required tests that Curlew does not pass, with the reasons.
const noProxy = 'a proxy answers with a status of its own here; a client reports an error'
const noCookies = 'a stored response has no cookies, because it would set them again'
const known = new Map([
  ['stale-close-must-revalidate', noProxy],
  ['stale-close-proxy-revalidate', noProxy],
  ['stale-close-no-cache', noProxy],
  ['stale-close-s-maxage=2', noProxy],
  ['headers-store-Set-Cookie', noCookies],
  ['headers-store-Set-Cookie2', noCookies],
  ['headers-store-Transfer-Encoding', 'a response with an unknown transfer coding is refused']
])

const load = (path) => import(pathToFileURL(join(folder, path)))

/** Starts the suite's server on a free port. */
async function startServer () {
  const server = spawn(process.execPath, ['test-engine/server/server.mjs'], {
    cwd: folder,
    env: { ...process.env, npm_config_protocol: 'http', npm_config_port: '0', npm_config_pidfile: '/dev/null' },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  process.on('exit', () => server.kill())
  for await (const line of createInterface({ input: server.stdout })) {
    const port = line.match(/^Listening on .*:(\d+)\/$/)?.[1]
    if (port !== undefined) return `http://localhost:${port}`
  }
  throw new Error('the server of the suite did not start')
}

/** Replaces `fetch` for the requests of tests. The others configure the server. */
function replaceFetch (probe) {
  const original = globalThis.fetch
  globalThis.fetch = async (url, init = {}) => {
    const session = String(url).match(/\/test\/([^/?]+)/)?.[1]
    if (session === undefined) return original(url, init)
    const request = { url: String(url), session, cache_mode: mode, method: init.method ?? 'GET', headers: init.headers }
    if (init.body !== undefined) request.body = Buffer.from(init.body).toString('base64')
    if (mode === 'single-user' && init.cache !== undefined) request.cache = init.cache
    if (init.redirect !== undefined) request.redirect = init.redirect
    const answer = await probe.send(request)
    if (answer.status === undefined) throw new TypeError(answer.error ?? answer.skip)
    if (init.dispatcher !== undefined) {
      const collector = init.dispatcher((_, handler) => handler)({}, {})
      for (const [status, fields] of answer.interim ?? []) {
        collector.onResponseStart(null, status, Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])))
      }
    }
    const text = Buffer.from(answer.body ?? '', 'base64').toString()
    return { status: answer.status, headers: new Headers(answer.headers), text: async () => text }
  }
}

// The suite reads interim responses with the package `undici`. Its requests do not pass through it here.
const stub = join(folder, 'node_modules', 'undici')
mkdirSync(stub, { recursive: true })
writeFileSync(join(stub, 'package.json'), '{ "name": "undici", "type": "module", "exports": "./index.js" }\n')
writeFileSync(join(stub, 'index.js'), 'export class Agent { compose (interceptor) { return interceptor } }\n')

const suites = (await load('tests/index.mjs')).default
const { runTests, getResults } = await load('test-engine/client/runner.mjs')
const { determineTestResult, resultTypes } = await load('test-engine/lib/results.mjs')
const base = await startServer()
const probe = new Probe(program)
replaceFetch(probe)
await runTests(suites, mode === 'single-user', base)
probe.close()

const results = getResults()
const counts = {}
let failed = false
for (const test of suites.flatMap((suite) => suite.tests)) {
  const result = determineTestResult(suites, test.id, results)
  if (result === resultTypes.untested) continue
  const kind = test.kind ?? 'required'
  const count = (counts[kind] ??= { passed: 0, all: 0 })
  const passes = result === resultTypes.pass || result === resultTypes.yes
  count.all += 1
  if (passes) count.passed += 1
  else if (kind !== 'check') console.log(`${result[2]} ${kind} ${test.id}: ${known.get(test.id) ?? results[test.id]}`)
  if (kind === 'required' && passes === known.has(test.id)) {
    failed = true
    console.log(`unexpected: ${test.id}`)
  }
}
for (const [kind, { passed, all }] of Object.entries(counts)) console.log(`${kind}: ${passed} of ${all}`)
process.exit(failed ? 1 : 0)
