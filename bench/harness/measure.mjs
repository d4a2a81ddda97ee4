/**
 * The measurement: rounds, in each of which every server has one turn, in random order. A server's CPU time is read
 * before and after its turn, when all its connections are open and all their answers received.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet, settledCpuNs } from './fleet.mjs';
import { Load, runWrk } from './load.mjs';
import { memoryBytes } from './process.mjs';
import { median, shuffled, valuesOf } from './statistics.mjs';

const LATENCY_SLICE_MS = 600;
/** Cells whose turns can't be shorter get fewer of them. */
const MOST_ROUNDS = { wrk: 6, open: 9, memory: 3 };
/** A server is warm after so many requests, or when it has had this many times its warm-up. */
const WARM_REQUESTS = 20_000;
const MOST_WARM_UPS = 4;
const COLLECT_MS = 250;
const MOST_FAILED_TURNS = 3;

/**
 * @returns {Promise<{ cell, rounds, failures, wires }>} `rounds`: one object for each round, from server id to values
 */
export async function measureCell(cell, servers, options) {
  return cell.kind === 'memory' ? measureMemory(cell, servers, options) : measureFleet(cell, servers, options);
}

async function measureFleet(cell, servers, options) {
  const fleet = new Fleet(cell);
  try {
    await fleet.start(servers);
    for (const member of [...fleet.members]) await attempt(fleet, member, () => warmUp(cell, member, options));
    const rates = cell.kind === 'open' ? await halfPeaks(cell, fleet) : null;
    const rounds = [];
    const wanted = Math.min(options.rounds, MOST_ROUNDS[cell.kind] ?? Infinity);
    for (let number = 0; number < wanted; number++) {
      const round = {};
      for (const member of shuffled(fleet.members)) {
        const values = await attempt(fleet, member, () => turn(cell, member, options, rates));
        if (values) round[member.server.id] = values;
      }
      rounds.push(round);
    }
    return results(cell, fleet, rounds, rates);
  } finally {
    await fleet.stop();
  }
}

function results(cell, fleet, rounds, rates) {
  const wires = {};
  for (const member of fleet.members) {
    const closes = rounds.map((round) => round[member.server.id]?.serverCloses);
    const note = cell.close && closes.includes(false) ? '; leaves the connection open' : '';
    wires[member.server.id] = { ...member.wire, text: member.wire.text + note };
  }
  return { cell, rounds, failures: fleet.failures, wires, rates };
}

/** Does a turn; a server that failed too often is left out from then on. */
async function attempt(fleet, member, work) {
  try {
    return await work();
  } catch (error) {
    member.failed = (member.failed ?? 0) + 1;
    if (member.child.gone || member.failed >= MOST_FAILED_TURNS) {
      await fleet.drop(member, member.child.gone ? `ended: ${member.child.output.slice(-200)}` : error.message);
    }
    return undefined;
  }
}

async function warmUp(cell, member, options) {
  const load = await Load.open(cell, member.port);
  try {
    let completed = 0;
    for (let count = 0; count < MOST_WARM_UPS && completed < WARM_REQUESTS; count++) {
      completed += (await load.command(`go ${options.warmUpMs}`)).completed;
      if (cell.tls && cell.close) break; // most of it is arithmetic, which needs no warming
    }
  } finally {
    await load.close();
  }
}

/** Half of each node:http's rate at saturation, requests per second. */
async function halfPeaks(cell, fleet) {
  const rates = {};
  for (const member of fleet.members) {
    if (member.server.id !== member.server.base) continue;
    const peaks = [];
    for (let count = 0; count < 3; count++) {
      peaks.push((await turn({ ...cell, kind: 'closed' }, member, { sliceMs: 500 })).requestsPerSecond);
    }
    rates[member.server.id] = Math.round(median(peaks) / 2);
  }
  return rates;
}

async function turn(cell, member, options, rates) {
  if (cell.kind === 'wrk') return wrkTurn(cell, member);
  const load = await Load.open(cell, member.port);
  try {
    const rate = rates && (rates[member.server.base] ?? Object.values(rates)[0]);
    if (cell.tls?.mode === 'resume') await load.command('go 0'); // one full handshake for each slot: its ticket
    const before = await settledCpuNs(member);
    const result = await load.command(rate ? `rate ${LATENCY_SLICE_MS} ${rate}` : `go ${options.sliceMs}`);
    const after = await settledCpuNs(member);
    return { ...evaluate(result, after - before), ...(rate && { rate }), serverCloses: load.ready.serverCloses };
  } finally {
    await load.close();
  }
}

async function wrkTurn(cell, member) {
  const before = await settledCpuNs(member);
  const result = await runWrk(cell, member.port, 1000);
  return evaluate(result, (await settledCpuNs(member)) - before);
}

/** Values of a turn. @throws Error when something went wrong in it: such a turn says nothing. */
function evaluate(result, cpu) {
  if (result.errors > 0 || result.unfinished > 0 || result.completed === 0) {
    throw new Error(`${result.errors} errors, ${result.unfinished} unanswered, ${result.completed} completed`);
  }
  return {
    cpuUs: cpu / 1000 / result.completed,
    requestsPerSecond: (result.completed * 1e9) / result.elapsedNs,
    p50Us: result.p50Ns / 1000,
    p99Us: result.p99Ns / 1000,
    resumed: result.handshakes ? result.resumed / result.handshakes : undefined,
  };
}

/** Each server alone and fresh, three times: memory has little noise, but remembers what was there before. */
async function measureMemory(cell, servers, options) {
  const rounds = [];
  let failures = [];
  for (let number = 0; number < Math.min(MOST_ROUNDS.memory, options.rounds); number++) {
    const round = {};
    failures = [];
    const bases = servers.filter((server) => server.id === server.base);
    for (const server of [...bases, ...shuffled(servers.filter((other) => !bases.includes(other)))]) {
      const fleet = new Fleet(cell);
      try {
        await fleet.start([...(server.id === 'floor' ? bases.slice(0, 1) : []), server]);
        const member = fleet.members.find((other) => other.server === server);
        if (member) {
          round[server.id] = { bytesPerConnection: await bytesPerConnection(cell, member) };
        }
        failures.push(...fleet.failures);
      } catch (error) {
        failures.push({ server, reason: error.message });
      } finally {
        await fleet.stop();
      }
    }
    rounds.push(round);
    if (options.quick) break;
  }
  return { cell, rounds, failures, wires: {} };
}

/** What the server grows by with connections that were asked once and then left idle. */
async function bytesPerConnection(cell, member) {
  const warm = await Load.open(cell, member.port, 10);
  await warm.command('go 500');
  await warm.close();
  const before = await collectedMemory(member);
  const load = await Load.open(cell, member.port);
  try {
    const after = await collectedMemory(member);
    const { closed } = await load.command('closed');
    if (closed > 0) throw new Error(`${closed} of ${cell.connections} connections were closed by the server`);
    return (after - before) / cell.connections;
  } finally {
    await load.close();
  }
}

/** Scripts collect their garbage at this signal; servers that have none would die of it. */
async function collectedMemory(member) {
  for (let count = 0; count < 2; count++) {
    if (!['nginx', 'floor'].includes(member.server.id)) process.kill(member.child.pid, 'SIGUSR2');
    await sleep(COLLECT_MS);
  }
  return memoryBytes(member.pids);
}

/** Median of a server's values in a cell. */
export const typical = (measured, server, key) => median(valuesOf(measured.rounds, server, key));
