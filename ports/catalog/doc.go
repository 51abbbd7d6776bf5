// Package catalog defines the ports for launchable objects: projects, inventories and their sources, and templates with
// their surveys.
package catalog
