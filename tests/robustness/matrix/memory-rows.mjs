// Rows about memory: clients that make a server hold as much as they can. They run alone on a drive, one after the
// other; while one holds its connections another client must be answered, and the processes' peak is compared with
// node:http's.

import { once } from 'node:events';
import net from 'node:net';
import { request } from '../../support/clients.mjs';
import { peakBytes, resetPeak, residentBytes } from '../../support/process-facts.mjs';

const MIB = 1_048_576;
const STEADY_MS = 700;
const LIMIT_MS = 20_000;

/** A peak may be twice node:http's and this; so much more may be kept when the clients have gone. */
const PEAK_SLACK_BYTES = 64 * MIB;
const KEPT_SLACK_BYTES = 96 * MIB;

const get = (folder, name) => `GET ${folder}${name} HTTP/1.1\r\nHost: a\r\n\r\n`;
const upload = (folder, name) => `POST ${folder}${name} HTTP/1.1\r\nHost: a\r\nContent-Length: ${64 * MIB}\r\n\r\n`;

/** `connections` clients send `bytes(folder)` and never read; uploads follow it with as much as is taken. */
export const MEMORY_ROWS = [
  { name: 'pipelined answers of 10 MB from one buffer', connections: 1, bytes: (folder) => get(folder, 'shared-10m').repeat(60) },
  { name: 'pipelined answers of 10 MB on four connections', connections: 4, bytes: (folder) => get(folder, 'shared-10m').repeat(20) },
  { name: 'pipelined answers of 100 KB', connections: 4, bytes: (folder) => get(folder, 'own-100k').repeat(300) },
  { name: 'pipelined answers of 100 KB of text', connections: 4, bytes: (folder) => get(folder, 'text-100k').repeat(300) },
  { name: 'pipelined small answers', connections: 4, bytes: (folder) => get(folder, 'tiny').repeat(50_000) },
  { name: 'sixty readers of one 10 MB buffer that do not read', connections: 60, bytes: (folder) => get(folder, 'shared-10m') },
  { name: 'writes that ignore back-pressure', connections: 8, bytes: (folder) => get(folder, 'flood-writes') },
  { name: 'big answers behind one that never comes', connections: 4, bytes: (folder) => get(folder, 'unread-for-ever') + get(folder, 'shared-10m').repeat(20) },
  { name: 'requests behind one that never is answered', connections: 4, bytes: (folder) => get(folder, 'unread-for-ever').repeat(20_000) },
  { name: 'uploads that the program does not read', connections: 100, bytes: (folder) => upload(folder, 'unread-for-ever'), uploads: true },
  { name: 'uploads that are paused', connections: 100, bytes: (folder) => upload(folder, 'paused-for-ever'), uploads: true },
];

/** Runs `row` on `drive`; resolves with bytes above what the processes had before: `{ peak, kept }`. */
export async function measure(row, drive) {
  const endpoint = drive.endpoint('patient');
  await drive.collect();
  const before = resident(drive);
  for (const { pid } of drive.processes) resetPeak(pid);
  const sockets = await hold(row, endpoint);
  await steady(() => resident(drive));
  const { status } = await request(`http://127.0.0.1:${endpoint.port}${endpoint.folder}tiny`, { timeout: LIMIT_MS });
  if (status !== 200) throw new Error(`${row.name}: another client got ${status}`);
  const peak = sum(drive, peakBytes) - before;
  for (const socket of sockets) socket.destroy();
  await drive.collect();
  await steady(() => resident(drive));
  await drive.collect();
  return { peak, kept: resident(drive) - before };
}

/** What is wrong with a drive's `measured` memory beside node:http's; undefined if nothing is. */
export function excess(measured, stock) {
  const limits = { peak: Math.max(0, stock.peak) * 2 + PEAK_SLACK_BYTES, kept: Math.max(0, stock.kept) + KEPT_SLACK_BYTES };
  const words = Object.keys(limits).filter((name) => measured[name] > limits[name])
    .map((name) => `${name} ${inMiB(measured[name])}, node:http ${inMiB(stock[name])}`);
  return words.length === 0 ? undefined : words.join('; ');
}

export const inMiB = (bytes) => `${Math.round(bytes / MIB)} MiB`;

async function hold({ connections, bytes, uploads }, { port, folder }) {
  const part = Buffer.alloc(MIB, 'x');
  return Promise.all(Array.from({ length: connections }, async () => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
    socket.pause();
    await once(socket, 'connect');
    socket.write(bytes(folder));
    if (uploads) for (let count = 0; count < 16; count++) socket.write(part);
    return socket;
  }));
}

/** Resolves when the number has hardly moved for a while. */
async function steady(read) {
  const limit = Date.now() + LIMIT_MS;
  let [last, since] = [read(), Date.now()];
  while (Date.now() - since < STEADY_MS && Date.now() < limit) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = read();
    if (Math.abs(now - last) > MIB) [last, since] = [now, Date.now()];
  }
}

const resident = (drive) => sum(drive, residentBytes);

const sum = (drive, bytesOf) => drive.processes.reduce((total, { pid }) => total + bytesOf(pid), 0);
