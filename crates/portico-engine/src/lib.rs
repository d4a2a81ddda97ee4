//! The HTTP engine: listeners, connections, timers and dispatch.
