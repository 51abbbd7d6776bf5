// Package control acts on runs that exist: it cancels and decides them, and makes new ones of them.
package control
