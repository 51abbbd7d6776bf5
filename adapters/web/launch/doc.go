// Package launch is the section of the web interface with templates, and the forms that launch them.
package launch
