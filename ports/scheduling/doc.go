// Package scheduling is the contract of schedules, which fire by the clock, and of triggers, which fire by a forge.
package scheduling
