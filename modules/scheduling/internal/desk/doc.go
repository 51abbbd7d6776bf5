// Package desk is the part of every change that schedules and triggers have alike: who may make it, what it may be called, what it
// names, and the errors that say so.
package desk
