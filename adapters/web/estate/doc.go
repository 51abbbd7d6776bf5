// Package estate is the section of the web interface with inventories, facts at an instant, drift and changes.
package estate
