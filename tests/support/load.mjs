// Load on a server, every request of which is accounted for.

import http from 'node:http';

/**
 * Keeps `connections` kept connections busy until `stop()`, which resolves with what came of each request:
 * `{ sent, statuses: Map, failures: [] }`. A failure is a request without a complete answer. `paths` are asked in turn.
 */
export function startLoad(url, { connections = 16, paths = ['/'], check = () => true, timeoutMs = 30_000 } = {}) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const result = { sent: 0, statuses: new Map(), failures: [] };
  let stopping = false;
  const workers = Array.from({ length: connections }, async (_, index) => {
    for (let number = index; !stopping; number += connections) {
      const path = paths[number % paths.length];
      result.sent++;
      try {
        const { status, body } = await ask(`${url}${path}`, agent, timeoutMs);
        result.statuses.set(status, (result.statuses.get(status) ?? 0) + 1);
        if (!check(status, body, path)) result.failures.push(`${path}: ${status} ${body.slice(0, 80)}`);
      } catch (error) {
        result.failures.push(`${path}: ${error.code ?? ''} ${error.message}`);
      }
    }
  });
  return {
    result,
    stop: async () => {
      stopping = true;
      await Promise.all(workers);
      agent.destroy();
      return result;
    },
  };
}

function ask(url, agent, timeoutMs) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, timeout: timeoutMs }, (response) => {
      let body = '';
      response.setEncoding('latin1').on('data', (part) => (body += part));
      response.on('end', () => (response.complete
        ? resolve({ status: response.statusCode, body })
        : reject(new Error('the answer is incomplete'))));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', reject);
  });
}
