import './opentelemetry.cjs';
