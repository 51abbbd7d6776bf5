// Package httpserver runs an http.Handler on one address with limits that keep slow or many clients from harming
// others, and stops it in two steps: first it accepts no new connections, later it ends the open ones.
package httpserver
