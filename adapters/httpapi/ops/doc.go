// Package ops is the surface for operators: liveness, readiness, metrics, the API document with its reference page,
// and the page that a browser finds at the root. Everything it serves is embedded; nothing is loaded from elsewhere.
package ops
