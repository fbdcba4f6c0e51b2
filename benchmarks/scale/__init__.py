"""How a long run behaves: time per case, memory over time, one and two workers, dask, and going on after a kill."""
