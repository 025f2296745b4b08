"""The duties: for each kind of effect, capabilities are put together and handed to the belt that does it.

One module for each belt, loaded by that belt's process alone and only when there is work; each may import its
own belt, the rooms below and the ledger's values.
A duty refuses to hold a token longer than it reads or writes: no model is asked and no box opened while one lives.
"""
