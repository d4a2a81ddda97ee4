// Everything stays on this machine: no telemetry, no fonts, no image service.
import { join } from 'node:path';

export default {
  distDir: process.env.NEXT_DIST ?? '.next',
  turbopack: { root: join(import.meta.dirname, '../..') },
  images: { unoptimized: true },
};
