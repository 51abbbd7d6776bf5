// Package system stores dead letters in SQL.
package system
