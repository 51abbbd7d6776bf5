// Package probes contains the doctor's checks of this machine and this process: programs, disks, key files, clocks, the
// schema and executors. They only read.
package probes
