// Package executiontest is the conformance suite of execution.ControlPlane: what an executor relies on, whether the
// plane is the database or a relay.
package executiontest
