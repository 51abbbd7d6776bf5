// Package check validates members of requests. Boundary: it uses no store and no rights. Its faults name a member and
// contain no secret.
package check
