// Package plans takes the plans of dry runs and makes the held runs that apply them.
package plans
