'use strict';
// OpenTelemetry's instrumentation of http and Express, with an exporter that prints.

const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { ExpressInstrumentation } = require('@opentelemetry/instrumentation-express');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { NodeTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');
const saw = require('./saw.cjs');

const SERVER = 1;

const exporter = {
  export(spans, done) {
    for (const { kind, attributes } of spans) {
      if (kind === SERVER) saw(attributes['http.request.method'], attributes['http.route'], attributes['http.response.status_code']);
    }
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()] });
