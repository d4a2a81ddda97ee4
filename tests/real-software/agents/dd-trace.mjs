import './dd-trace.cjs';
