// Package login provides the catalog with logins: those for repositories, and those that inventory sources use for a
// refresh.
package login
