// Package cgroup makes control groups: for everything that a run starts, so that none of it is lost, and with limits
// of memory and processes.
//
// Groups of version 2 do both, where the controllers are delegated. Where the memory controller is of version 1, a
// group with a limit of memory is one of version 1, and nothing limits processes.
package cgroup
