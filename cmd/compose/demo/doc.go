// Package demo makes the content of the demo: a fleet of 240 hosts with 90 days of history, made by the modules' own
// ports under a clock that walks through that time, and runs that go on while the demo is served.
package demo
