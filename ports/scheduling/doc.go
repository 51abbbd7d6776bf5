// Package scheduling is the contract of what fires by itself: schedules by the clock, and triggers by a forge.
package scheduling
