// Package hosts selects hosts by their facts, and makes an inventory of them.
package hosts
