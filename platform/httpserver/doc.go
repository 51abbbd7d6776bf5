// Package httpserver runs an http.Handler on one address with limits that keep slow or many clients from harming
// others, and stops it in two steps: no new connections first, the end of those that there are later.
package httpserver
