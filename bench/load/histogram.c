/* Latencies in logarithmic slots: 64 to each power of two, so that a quantile is good to 1.6 %. */
#include "load.h"

#include <string.h>

static uint64_t counts[HISTOGRAM_SLOTS];
static uint64_t total;

void histogram_reset(void) {
  memset(counts, 0, sizeof counts);
  total = 0;
}

void histogram_add(uint64_t ns) {
  unsigned slot = (unsigned)ns;
  if (ns >= 64) {
    unsigned power = 63 - (unsigned)__builtin_clzll(ns); /* 6 or more */
    slot = (power - 5) * 64 + (unsigned)((ns >> (power - 6)) & 63);
  }
  counts[slot < HISTOGRAM_SLOTS ? slot : HISTOGRAM_SLOTS - 1]++;
  total++;
}

uint64_t histogram_quantile(double quantile) {
  uint64_t wanted = (uint64_t)(quantile * (double)total), seen = 0;
  if (total == 0) return 0;
  for (unsigned slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
    seen += counts[slot];
    if (seen <= wanted) continue;
    if (slot < 64) return slot;
    unsigned power = slot / 64 + 5;
    return (64 + (uint64_t)(slot % 64)) << (power - 6);
  }
  return 0;
}
