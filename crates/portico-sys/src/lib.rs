//! Operating-system calls of the engine.
