// Package probes are the checks of the doctor that look at this machine and at this process: programs, disks, the
// files of keys, clocks, the schema and the fleet. They read, and change nothing.
package probes
