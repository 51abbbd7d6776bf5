// Package ops serves the operators: liveness, readiness, metrics, the API document with its reference page, and the
// start page. Everything it serves is embedded; nothing is loaded from elsewhere.
package ops
