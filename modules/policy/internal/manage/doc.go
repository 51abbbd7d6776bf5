// Package manage creates, changes and deletes policies for administrators, and lists them for everybody.
package manage
