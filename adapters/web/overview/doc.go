// Package overview is the section of the web interface with the first page,
// which shows what needs attention, and with the search of the palette.
package overview
