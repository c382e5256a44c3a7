"""Data synthesis: query elements, feasibility, text, balanced sets, and the teacher of the SFT stage."""
