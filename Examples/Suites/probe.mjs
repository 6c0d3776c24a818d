// Sends requests with Curlew, through the program `curlew-probe`: lines of JSON in both directions (PROBE.md).

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export class Probe {
  #process
  #receivers = new Map()
  #last = 0

  constructor (program) {
    this.#process = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      const answer = JSON.parse(line)
      if (!Number.isInteger(answer.id)) throw new Error(`the answer belongs to no request: ${line}`)
      if (answer.skip !== undefined || answer.code === 'bad-request') throw new Error(`the probe refuses a request: ${line}`)
      this.#receivers.get(answer.id)?.(answer)
    })
    this.#process.on('exit', (status) => {
      if (this.#receivers.size > 0) throw new Error(`the probe ended with status ${status}`)
    })
  }

  /** Sends a request, and returns its only answer. */
  send (request) {
    return new Promise((resolve) => {
      const id = this.follow(request, (answer) => {
        this.forget(id)
        resolve(answer)
      })
    })
  }

  /** Sends a request with several answers, and returns its number. */
  follow (request, receiver) {
    const id = ++this.#last
    this.#receivers.set(id, receiver)
    this.#process.stdin.write(JSON.stringify({ id, ...request }) + '\n')
    return id
  }

  /** Ignores further answers to a request. */
  forget (id) { this.#receivers.delete(id) }

  close () { this.#process.stdin.end() }
}
