// Tides of an estuary that does not exist: the moon's period, and nothing of the rest.

/** Milliseconds from one high water to the next. */
const PERIOD_MS = 12.42 * 3600 * 1000;
/** A high water, some time ago. */
const REFERENCE_MS = Date.UTC(2026, 0, 1, 3, 17);

/** The next four high and low waters. */
export function tideTable(now) {
  const halves = Math.ceil((now.getTime() - REFERENCE_MS) / (PERIOD_MS / 2));
  return Array.from({ length: 4 }, (_, index) => {
    const at = new Date(REFERENCE_MS + (halves + index) * PERIOD_MS / 2);
    const high = (halves + index) % 2 === 0;
    return { kind: high ? 'High' : 'Low', time: at.toISOString().slice(11, 16), metres: (high ? 4.2 : 0.9).toFixed(1) };
  });
}

/** Metres above datum at a moment. */
export function waterLevel(now) {
  return 2.55 + 1.65 * Math.cos(2 * Math.PI * (now.getTime() - REFERENCE_MS) / PERIOD_MS);
}
