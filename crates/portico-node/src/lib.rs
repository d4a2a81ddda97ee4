//! Portico's Node-API add-on.
