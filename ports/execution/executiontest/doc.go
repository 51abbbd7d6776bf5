// Package executiontest is the conformance suite of execution.ControlPlane: the guarantees for an executor, whether
// the plane is the database or a relay.
package executiontest
