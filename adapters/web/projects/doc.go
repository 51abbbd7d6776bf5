// Package projects is the section of the web interface with projects and their files.
package projects
